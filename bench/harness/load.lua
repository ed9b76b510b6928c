-- What wrk sends. Arguments after `--`: mode path [header | file offset]
--   static PATH [HEADER]          one request, over and over
--   rotate PATH FILE OFFSET       the tokens of FILE, a line each, starting at OFFSET
--   unknown PATH FILE OFFSET      tokens whose kid is the next number: never the same twice
--   mixed PATH FILE OFFSET TOKEN  every other request is TOKEN, the rest as `unknown`

local function lines(file)
  local all = {}
  for line in io.lines(file) do all[#all + 1] = line end
  return all
end

-- wrk.format is too slow to be called per request, so everything that can be is made before the load starts.
local function get(path, token)
  return wrk.format('GET', path, { Host = wrk.host, Authorization = token and 'Bearer ' .. token })
end

local function rotation(path, file, offset)
  local requests = {}
  for i, token in ipairs(lines(file)) do requests[i] = get(path, token) end
  local i = offset
  return function()
    i = i + 1
    return requests[i % #requests + 1]
  end
end

-- The file has what stands before the kid's nine digits, what stands after, and the base64url of 000 to 999: three
-- digits are exactly four characters, so a fresh token is a concatenation.
local function unknown_kids(path, file, offset)
  local parts = lines(file)
  local marker = '@kid@'
  local request = get(path, parts[1] .. marker .. parts[2])
  local at = request:find(marker, 1, true)
  local head, tail = request:sub(1, at - 1), request:sub(at + #marker)
  local kid = offset
  return function()
    kid = (kid + 1) % 1000000000
    local high, middle, low = math.floor(kid / 1000000), math.floor(kid / 1000) % 1000, kid % 1000
    return head .. parts[high + 3] .. parts[middle + 3] .. parts[low + 3] .. tail
  end
end

local function every_other(good, other)
  local turn = false
  return function()
    turn = not turn
    return turn and good or other()
  end
end

function init(args)
  local mode, path = args[1], args[2]
  if mode == 'static' then
    wrk.path = path
    if args[3] then wrk.headers['Authorization'] = args[3] end
  elseif mode == 'rotate' then
    request = rotation(path, args[3], tonumber(args[4]))
  elseif mode == 'unknown' then
    request = unknown_kids(path, args[3], tonumber(args[4]))
  else
    request = every_other(get(path, args[5]), unknown_kids(path, args[3], tonumber(args[4])))
  end
end

-- Counting each status costs wrk a call per answer, so only the soak asks for it.
local threads = {}
statuses = {}

function setup(thread)
  threads[#threads + 1] = thread
end

if os.getenv('COUNT_STATUSES') then
  function response(status)
    statuses[status] = (statuses[status] or 0) + 1
  end
end

local function counted()
  local parts = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get('statuses')) do
      parts[#parts + 1] = string.format('"%d":%d', status, count)
    end
  end
  return table.concat(parts, ',')
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"durationUs":%d,"refused":%d,"socketErrors":%d,"statuses":{%s}}\n',
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    counted()
  ))
end
