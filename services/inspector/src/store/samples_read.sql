-- The series $1, of the subject $2 (null: all), since $3, oldest first; at most a day of some subjects.
select subject, at, value from samples
where series = $1 and ($2::text is null or subject = $2) and at >= $3
order by subject, at
limit 200000
