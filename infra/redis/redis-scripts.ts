/**
 * The scripts that write views. Each works on one tag, so all its keys are in one slot. A fence is
 * `<epoch>:<sequence>`. A script returns 1 if it did its work, else the fence that it found (empty text: none).
 */

/**
 * KEYS: the fence, then one key per write. ARGV: the expected fence, the new fence, then for each write `s` value, `d`
 * (delete), `h` count field value… or `r` count field… (remove), with the number of arguments that follow.
 */
export const commitScript = `
local found = redis.pcall('GET', KEYS[1]) or ''
-- A key of another type is no fence.
if type(found) == 'table' then found = '' end
-- A retry of a batch whose reply was lost: it is written already.
if found == ARGV[2] then return 1 end
if found ~= ARGV[1] then return found end
local a = 3
for k = 2, #KEYS do
  local op = ARGV[a]
  if op == 's' then redis.call('SET', KEYS[k], ARGV[a + 1]); a = a + 2
  elseif op == 'd' then redis.call('DEL', KEYS[k]); a = a + 1
  else
    local last = a + 1 + tonumber(ARGV[a + 1])
    redis.call(op == 'h' and 'HSET' or 'HDEL', KEYS[k], unpack(ARGV, a + 2, last))
    a = last + 1
  end
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`;

/** KEYS: the fence. ARGV: the new epoch. Raises the fence unless a newer leader holds it. */
export const raiseScript = `
local found = redis.pcall('GET', KEYS[1]) or ''
-- A key of another type is no fence.
if type(found) == 'table' then found = '' end
local epoch = tonumber(string.match(found, '^%d+')) or 0
if epoch >= tonumber(ARGV[1]) then return found end
redis.call('SET', KEYS[1], ARGV[1] .. ':0')
return 1
`;

/**
 * KEYS: the fence, the tag's completeness. ARGV: own epoch, the new sequence. Restores the fence after a loss and marks
 * the tag as incomplete, unless a newer leader holds the fence.
 */
export const refenceScript = `
local found = redis.pcall('GET', KEYS[1]) or ''
-- A key of another type is no fence.
if type(found) == 'table' then found = '' end
local epoch = tonumber(string.match(found, '^%d+')) or 0
if epoch > tonumber(ARGV[1]) then return found end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2])
redis.call('DEL', KEYS[2])
return 1
`;
