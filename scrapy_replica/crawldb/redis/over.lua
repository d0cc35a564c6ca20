-- Says that the crawl is through, if it still is. Returns whether it is.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
if are_all_idle() then
    call('SET', P .. 'over', 1)
    return 1
end
return 0
