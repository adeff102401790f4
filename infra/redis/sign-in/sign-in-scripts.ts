// Redis runs each script atomically. Times are Redis's own clock, in milliseconds.

const now = `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)`;

/** The scripts, by the names that they have as methods of a client. */
export const signInScripts = {
  /**
   * KEYS entry, account index, accounts. ARGV payload, life, account, member. HSET comes first: a full Redis refuses a script
   * only at its first write, and only if that needs memory, which HDEL does not.
   */
  signInPut: {
    numberOfKeys: 3,
    lua: `${now}
local ends = now + ARGV[2]
redis.call('HSET', KEYS[1], 'p', ARGV[1], 'a', ARGV[3])
redis.call('HDEL', KEYS[1], 'u', 'f')
redis.call('PEXPIREAT', KEYS[1], ends)
local function index(key, member)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  redis.call('ZADD', key, 'GT', ends, member)
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
  redis.call('PEXPIREAT', key, last[2])
end
if ARGV[3] ~= '' then
  index(KEYS[2], ARGV[4])
  index(KEYS[3], ARGV[3])
end`,
  },

  /** KEYS entry. */
  signInTake: {
    numberOfKeys: 1,
    lua: `local payload = redis.call('HGET', KEYS[1], 'p')
redis.call('DEL', KEYS[1])
return payload`,
  },

  /**
   * KEYS entry, count of the limit's window. ARGV grace, uses at most, the limit or 0, the length of its window. Returns what
   * kind of use this was, or `none` where there is no entry, and of `limited` the milliseconds to wait.
   */
  signInUse: {
    numberOfKeys: 2,
    lua: `${now}
if redis.call('EXISTS', KEYS[1]) == 0 then return { 'none', 0 } end
local first = redis.call('HGET', KEYS[1], 'f')
if first and now - first > tonumber(ARGV[1]) then return { 'late', 0 } end
if tonumber(redis.call('HGET', KEYS[1], 'u') or 0) >= tonumber(ARGV[2]) then return { 'refused', 0 } end
if ARGV[3] ~= '0' then
  local count = redis.call('INCRBY', KEYS[2], 1)
  if count == 1 then redis.call('PEXPIREAT', KEYS[2], now + ARGV[4]) end
  if count > tonumber(ARGV[3]) then return { 'limited', redis.call('PTTL', KEYS[2]) } end
end
if redis.call('HINCRBY', KEYS[1], 'u', 1) > 1 then return { 'again', 0 } end
redis.call('HSET', KEYS[1], 'f', now)
return { 'first', 0 }`,
  },

  /** KEYS accounts. ARGV cursor. Returns the next cursor, and some accounts that may have entries now. */
  signInAccounts: {
    numberOfKeys: 1,
    lua: `${now}
local page = redis.call('ZSCAN', KEYS[1], ARGV[1], 'COUNT', 100)
local live = {}
for i = 1, #page[2], 2 do
  if tonumber(page[2][i + 1]) > now then table.insert(live, page[2][i]) end
end
return { page[1], live }`,
  },

  /** KEYS account index, accounts. ARGV account, prefix of entries' keys, which share the index's hash tag. */
  signInTidyAccount: {
    numberOfKeys: 2,
    lua: `local left = 0
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('HGET', ARGV[2] .. member, 'a') == ARGV[1] then
    left = left + 1
  else
    redis.call('ZREM', KEYS[1], member)
  end
end
if left == 0 then redis.call('ZREM', KEYS[2], ARGV[1]) end`,
  },
};
