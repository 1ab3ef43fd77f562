-- Posts the file BODY to REQUEST_PATH and checks that each answer has EXPECT in it. 409, 429 and 503 count as refused.
local file = assert(io.open(os.getenv("BODY"), "rb"))
wrk.method = "POST"
wrk.path = os.getenv("REQUEST_PATH")
wrk.headers["Content-Type"] = "application/json"
wrk.body = file:read("*a")
file:close()
local expected = os.getenv("EXPECT")

local threads = {}
function setup(thread)
  thread:set("wrong", 0)
  thread:set("refused", 0)
  table.insert(threads, thread)
end

function response(status, headers, body)
  if status == 409 or status == 429 or status == 503 then
    refused = refused + 1
  elseif status ~= 200 or not string.find(body, expected, 1, true) then
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
