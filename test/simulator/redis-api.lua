-- What Redis 7 gives its scripts, as far as ours use it. Its main function runs a script.
local getinfo = debug.getinfo

redis = { call = hostCall, pcall = hostPcall, sha1hex = hostSha1 }
cjson = { decode = hostDecode }

for _, name in ipairs { 'hostCall', 'hostPcall', 'hostSha1', 'hostDecode', 'debug', 'dofile', 'io', 'loadfile', 'module', 'newproxy', 'os', 'package', 'print', 'require' } do
  _G[name] = nil
end
setmetatable(_G, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
  __newindex = function() error('Attempt to modify a readonly table', 2) end,
})

local compiled = {}
local running

-- Says where a script failed, as Redis does.
local function located(fault)
  if type(fault) ~= 'table' then fault = { err = 'ERR ' .. tostring(fault) } end
  local level, place = 2, nil
  repeat
    place = getinfo(level, 'Sl')
    level = level + 1
  until not place or place.source == '@user_script'
  if place then fault.err = fault.err .. ' script: ' .. running .. ', on @user_script:' .. place.currentline .. '.' end
  return fault
end

return function(sha, source, keys, args)
  running = sha
  if not compiled[source] then
    local script, fault = loadstring(source, '@user_script')
    if not script then return { err = 'ERR Error compiling script (new function): ' .. fault } end
    compiled[source] = script
  end
  rawset(_G, 'KEYS', keys)
  rawset(_G, 'ARGV', args)
  local _, reply = xpcall(compiled[source], located)
  return reply
end
