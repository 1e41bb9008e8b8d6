-- Whether a delivery of an event in [$1, $2) is not at an end. Asked again under the lock of a detached partition: a
-- replay may have come in between.
select exists (
    select from deliveries d
    where d.state in ('pending', 'processing') and d.received_at >= $1 and d.received_at < $2) as open
