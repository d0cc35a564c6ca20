-- Lets a process go: what it was fetching waits again.
-- COMMON
if call('ZSCORE', P .. 'alive', ME) then
    bury(ME)
end
return 1
