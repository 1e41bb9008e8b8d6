-- Every secret captured in a handshake, to be sealed anew.
select source, sealed
from captured_secrets
order by source
