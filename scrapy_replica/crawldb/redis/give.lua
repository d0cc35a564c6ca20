-- Gives up slots with nothing in flight: those of ARGV[4...] of which nothing waits, and where ARGV[3] is "1", because
-- another process has nothing to do, half of the others, the best one excepted; where it is "all", all.
-- Returns the slots that were given up.
-- COMMON
local gone = check_in()
if gone then
    return gone
end
local given, full = {}, {}
for n = 4, #ARGV do
    if ARGV[3] ~= 'all' and call('HEXISTS', P .. 'best', ARGV[n]) == 1 then
        full[#full + 1] = ARGV[n]
    else
        given[#given + 1] = ARGV[n]
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
