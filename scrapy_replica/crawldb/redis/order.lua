-- Enters an order of a person, who is no process of the crawl: ARGV[3] its id, packed, ARGV[4] its row, ARGV[5] the
-- change as the log has it.
-- COMMON
call('HSET', P .. 't:orders', ARGV[3], ARGV[4])
return add_to_log('d', ARGV[5])
