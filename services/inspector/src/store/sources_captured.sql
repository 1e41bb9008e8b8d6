-- The secret that the provider of source $1 handed over, if it did: when, and until when another may replace it.
select captured_at, renewable_until from captured_secrets where source = $1
