package openai

import (
	"strconv"
	"strings"

	"pinion/runtime/rawjson"
)

// Error is the error object of OpenAI's API, with its HTTP status.
type Error struct {
	Status  int
	Type    string
	Message string
	Param   string // "" means null
	Code    string // "" means null
	Details string // JSON for clients that act on it; "" means none

	retryAfter int  // seconds; 0 means not known
	final      bool // the client's own retry is not wanted
}

// The types of errors.
const (
	TypeInvalid   = "invalid_request_error"
	TypeRateLimit = "rate_limit_error"
	TypeServer    = "server_error"
)

// The codes of errors.
const (
	CodeUnknownParameter     = "unknown_parameter"
	CodeUnsupportedParameter = "unsupported_parameter"
	CodeInvalidType          = "invalid_type"
	CodeInvalidValue         = "invalid_value"
	CodeMissingParameter     = "missing_required_parameter"
	CodeInvalidAPIKey        = "invalid_api_key"
	CodeModelNotFound        = "model_not_found"
	CodeRateLimit            = "rate_limit_exceeded"
)

func (e *Error) Error() string { return e.Message }

// rename gives its parameter another name.
func (e *Error) rename(param string) {
	if e.Param != "" && e.Param != param {
		e.Message = strings.ReplaceAll(e.Message, "'"+e.Param+"'", "'"+param+"'")
		e.Param = param
	}
}

// AppendJSON appends the body of an answer: {"error":{…}}.
func (e *Error) AppendJSON(dst []byte) []byte {
	dst = rawjson.AppendQuoted(append(dst, `{"error":{"message":`...), e.Message)
	dst = rawjson.AppendQuoted(append(dst, `,"type":`...), e.Type)
	dst = appendNullable(append(dst, `,"param":`...), e.Param)
	dst = appendNullable(append(dst, `,"code":`...), e.Code)
	return append(dst, "}}"...)
}

func appendNullable(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, "null"...)
	}
	return rawjson.AppendQuoted(dst, text)
}

func invalid(param, code, message string) *Error {
	return &Error{Status: 400, Type: TypeInvalid, Message: message, Param: param, Code: code}
}

// Missing returns the error of a parameter that a request lacks.
func Missing(param string) *Error {
	return invalid(param, CodeMissingParameter, "Missing required parameter: '"+param+"'.")
}

// WrongType returns the error of a value of another type than wanted, such as "a string".
func WrongType(param, wanted string, value []byte) *Error {
	return invalid(param, CodeInvalidType,
		"Invalid type for '"+param+"': expected "+wanted+", but got "+typeOf(value)+" instead.")
}

// WrongValue returns the error of a value that a parameter cannot have.
func WrongValue(param, message string) *Error {
	return invalid(param, CodeInvalidValue, "Invalid value for '"+param+"': "+message)
}

// typeOf names the type of a JSON value.
func typeOf(value []byte) string {
	switch kind := rawjson.KindOf(value); {
	case kind == rawjson.KindNull:
		return "null"
	case kind != number:
		return wanted(kind)
	case isInteger(value):
		return "an integer"
	default:
		return "a decimal number"
	}
}

func isInteger(value []byte) bool {
	_, err := strconv.ParseInt(string(value), 10, 64)
	return err == nil
}

// BadOutput returns the failure of a model whose output does not fit its endpoint. reason says what it returned.
func BadOutput(reason string) *Error {
	return &Error{Status: 500, Type: TypeServer, Message: reason}
}

// Unknown returns the error of a parameter that the API does not have.
func Unknown(param string) *Error {
	return invalid(param, CodeUnknownParameter, "Unknown parameter: '"+param+"'.")
}

// Unsupported returns the error of a parameter that this server does not serve. reason is a sentence without its
// period.
func Unsupported(param, reason string) *Error {
	return invalid(param, CodeUnsupportedParameter, "Unsupported parameter: '"+param+"': "+reason+".")
}

// wanted names a kind in a sentence.
func wanted(k rawjson.Kind) string {
	switch k {
	case number:
		return "a number"
	case text:
		return "a string"
	case boolean:
		return "a boolean"
	case array:
		return "an array"
	default:
		return "an object"
	}
}
