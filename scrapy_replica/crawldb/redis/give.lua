-- Gives up slots with nothing in flight: those of ARGV[4...] of which nothing waits, and where ARGV[3] is "1", because
-- another process has nothing to do, half of the others, the best one excepted.
-- Returns the slots that were given up.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
local given, full = {}, {}
for n = 4, #ARGV do
    local slot, waits = ARGV[n], false
    for _, host in ipairs(call('SMEMBERS', P .. 's:' .. slot)) do
        waits = waits or call('HEXISTS', P .. 'head', host) == 1
    end
    if waits then
        full[#full + 1] = slot
    else
        given[#given + 1] = slot
    end
end
if ARGV[3] == '1' then
    for n = 2, #full, 2 do
        given[#given + 1] = full[n]
    end
end
for _, slot in ipairs(given) do
    give_up(slot, ME)
end
return given
