package grpc

import (
	"context"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"pinion/httpd/protocol"
)

// codeOf are the codes of errors.
var codeOf = map[protocol.Kind]codes.Code{
	protocol.BadInput: codes.InvalidArgument,
	protocol.Unknown:  codes.NotFound,
	protocol.Failed:   codes.Internal,
	protocol.NoPlace:  codes.ResourceExhausted,
	protocol.Waited:   codes.Unavailable,
	protocol.NotReady: codes.Unavailable,
	protocol.TooLarge: codes.ResourceExhausted,
	protocol.Internal: codes.Internal,

	protocol.Forbidden: codes.PermissionDenied,
	protocol.Conflict:  codes.AlreadyExists,
	protocol.InDoubt:   codes.Unavailable,
}

// failure returns the status of an error. A call that ended early by itself has the code of that.
func failure(ctx context.Context, err *protocol.Error) error {
	if err.Canceled {
		if ended := ctx.Err(); ended != nil {
			return status.FromContextError(ended).Err()
		}
		return status.Error(codes.Canceled, err.Error())
	}
	st := status.New(codeOf[err.Kind], err.Error())
	if err.RetryAfter > 0 {
		if detailed, e := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(err.RetryAfter)}); e == nil {
			st = detailed
		}
	}
	return st.Err()
}
