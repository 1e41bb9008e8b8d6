-- The history of a delivery.
select number, started_at, duration_ms, outcome, status, error, url, worker, late, response
from attempts where delivery_id = $1 order by number
