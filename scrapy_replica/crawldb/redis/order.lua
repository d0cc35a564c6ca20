-- Gives an order of a person, which comes from no process. ARGV[3] is its packed key, ARGV[4] its packed row, ARGV[5] the
-- change, packed for the log.
-- COMMON
call('HSET', P .. 't:orders', ARGV[3], ARGV[4])
return add_to_log('d', ARGV[5])
