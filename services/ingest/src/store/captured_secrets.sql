-- Every secret captured in a handshake.
select source, sealed, renewable_until
from captured_secrets
order by source
