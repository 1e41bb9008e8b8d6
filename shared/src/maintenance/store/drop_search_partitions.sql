-- Drops the search index's partitions of days that the log no longer has; how many.
select drop_search_partitions() as dropped
