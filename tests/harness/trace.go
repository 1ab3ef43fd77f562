package harness

// ClientTrace is the trace of a client's request.
const ClientTrace = "0af7651916cd43dd8448eb211c80319c"

// ClientParent is the span of a client's request.
const ClientParent = "b7ad6b7169203331"
