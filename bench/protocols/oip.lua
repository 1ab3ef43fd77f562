-- Posts the file BODY to bench's infer route; HEAD is how long the JSON before binary tensors is. Each answer is a 200 of LEAST
-- bytes at least.
local file = assert(io.open(os.getenv("BODY"), "rb"))
wrk.method = "POST"
wrk.path = "/v2/models/bench/infer"
wrk.headers["Content-Type"] = "application/octet-stream"
wrk.body = file:read("*a")
file:close()
local least = tonumber(os.getenv("LEAST"))
if os.getenv("HEAD") then
  wrk.headers["Inference-Header-Content-Length"] = os.getenv("HEAD")
else
  wrk.headers["Content-Type"] = "application/json"
end

local threads = {}
function setup(thread)
  thread:set("wrong", 0)
  table.insert(threads, thread)
end

function response(status, headers, body)
  if status ~= 200 or #body < least then
    wrong = wrong + 1
  end
end

function done(summary, latency, requests)
  local bad = 0
  for _, thread in ipairs(threads) do
    bad = bad + thread:get("wrong")
  end
  local failed = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format("RESULT %d %d %d\n", summary.requests, summary.duration, bad + failed))
end
