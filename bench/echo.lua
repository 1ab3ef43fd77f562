-- Posts an echo request of SIZE bytes (default 16) and checks every answer.
local size = tonumber(os.getenv("SIZE") or "16")
local text = string.rep("x", size)
wrk.method = "POST"
wrk.path = "/predictions"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"input":{"text":"' .. text .. '"}}'
local expected = '"output":"' .. text .. '"'

local threads = {}
function setup(thread)
  thread:set("wrong", 0)
  table.insert(threads, thread)
end

function response(status, headers, body)
  if status ~= 200 or not string.find(body, expected, 1, true) then wrong = wrong + 1 end
end

function done(summary, latency, requests)
  local bad = 0
  for _, thread in ipairs(threads) do bad = bad + thread:get("wrong") end
  io.write(string.format("RESULT requests=%d us=%d p50=%d p90=%d p99=%d wrong=%d errors=%d\n",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(90), latency:percentile(99),
    bad, summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
