-- Posts the file BODY to REQUEST_PATH and checks that each answer has EXPECT in it and LEAST bytes at least, where these are
-- given. 409, 429 and 503 count as refused. HEAD is how long the JSON before OIP's binary tensors is.
local file = assert(io.open(os.getenv("BODY"), "rb"))
wrk.method = "POST"
wrk.path = os.getenv("REQUEST_PATH")
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Accept"] = os.getenv("ACCEPT")
wrk.body = file:read("*a")
file:close()
local expected, least = os.getenv("EXPECT") or "", tonumber(os.getenv("LEAST") or "0")
if os.getenv("HEAD") then
  wrk.headers["Content-Type"] = "application/octet-stream"
  wrk.headers["Inference-Header-Content-Length"] = os.getenv("HEAD")
end

local threads = {}
function setup(thread)
  thread:set("wrong", 0)
  thread:set("refused", 0)
  table.insert(threads, thread)
end

function response(status, headers, body)
  if status == 409 or status == 429 or status == 503 then
    refused = refused + 1
  elseif status ~= 200 or #body < least or not string.find(body, expected, 1, true) then
    wrong = wrong + 1
  end
end

function done(summary, latency, requests)
  local bad, no = 0, 0
  for _, thread in ipairs(threads) do
    bad = bad + thread:get("wrong")
    no = no + thread:get("refused")
  end
  io.write(string.format("RESULT requests=%d us=%d p50=%d p90=%d p99=%d wrong=%d refused=%d errors=%d\n",
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(90), latency:percentile(99),
    bad, no, summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
