-- After a promotion: moves every number past whatever the lost server may have given, once.
select raise_heads() as raised
