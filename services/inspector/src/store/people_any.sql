-- Whether there are people at all.
select exists (select from people) as there_are
