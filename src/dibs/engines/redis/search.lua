-- Check entries of the ledger and return those of some agents and kinds, so that the others are not transferred.
--
-- KEYS  1 ledger   stream, as in script.lua
-- ARGV  1 "XRANGE" or "XREVRANGE", 2 and 3 its range; 4 how many entries to check at most, 5 how many to return at most
--       6 the number of agents that follow, then kinds; none of either means any
--
-- Reply {id of the last entry that was checked, or "" if the range has no more; entries}

local most, returned, named = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local agents, kinds, found = {}, {}, {}
for i = 7, 6 + named do agents[ARGV[i]] = true end
for i = 7 + named, #ARGV do kinds[ARGV[i]] = true end
local any_agent, any_kind = named == 0, #ARGV == 6 + named

local page = redis.call(ARGV[1], KEYS[1], ARGV[2], ARGV[3], 'COUNT', most)
for _, entry in ipairs(page) do
  local fields = {}
  for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
  if (any_agent or agents[fields.agent or '']) and (any_kind or kinds[fields.kind or '']) then
    found[#found + 1] = entry
    if #found == returned then return {entry[1], found} end
  end
end
return {#page == most and page[most][1] or '', found}
