-- The claim protocol that the database speaks.
select version from claim_protocol
