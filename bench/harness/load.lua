-- What wrk sends. Arguments after `--`: PATH [FILE]
-- GET, without a token, or with the tokens of FILE, a line each, in rotation.

function init(args)
  wrk.path = args[1]
  if not args[2] then return end
  -- wrk.format is too slow to be called per request, so every request is made before the load starts.
  local requests = {}
  for token in io.lines(args[2]) do
    wrk.headers['Authorization'] = 'Bearer ' .. token
    requests[#requests + 1] = wrk.format()
  end
  -- Calling a function for each request costs wrk time, so a single one is left to it.
  if #requests == 1 then return end
  local i = 0
  function request()
    i = i + 1
    return requests[i % #requests + 1]
  end
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"durationUs":%d,"rejected":%d,"socketErrors":%d}\n',
    summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
