package files

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"pinion/runtime/logtext"
)

var (
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("the file store is closed")
	// ErrFolderMissing means that another program, for example a cleaner of temporary files, removed the prediction's
	// folder.
	ErrFolderMissing = errors.New("the server's folder of temporary files was removed while the prediction used it")
	// ErrTooMany means that the input names more files than Options.MaxFiles.
	ErrTooMany = errors.New("the input names too many files")
	// ErrTooLarge means that a file is larger than Options.MaxFile.
	ErrTooLarge = errors.New("the file is too large")
	// ErrStalled means that a server sent nothing for Options.Stall.
	ErrStalled = errors.New("the server stopped sending")
	// ErrSlow means that a server sent, or took, fewer bytes than Options.MinRate allows.
	ErrSlow = errors.New("the transfer was too slow")
	// ErrTimeout means that a download took longer than Options.Timeout.
	ErrTimeout = errors.New("the download took too long")
	// ErrRedirects means that a server redirected more often than Options.MaxRedirects, or to a URL that is not http or
	// https.
	ErrRedirects = errors.New("the server's redirect cannot be followed")
	// ErrTruncated means that a server closed the connection before the file was complete.
	ErrTruncated = errors.New("the server closed the connection before the file was complete")
	// ErrCoding means that the content does not match its Content-Encoding.
	ErrCoding = errors.New("the content is not what its Content-Encoding says")
	// ErrDataURL means that a data URL is not well formed.
	ErrDataURL = errors.New("the data URL is invalid")
	// ErrScheme means that the URL is not an http, https or data URL.
	ErrScheme = errors.New("not an http, https or data URL")
)

// Errors of uploads.
var (
	// ErrPrefix means that the upload URL is not an http or https URL.
	ErrPrefix = errors.New("the URL to upload to is not an http or https URL")
	// ErrNoAnswer means that the server closed the connection before it answered.
	ErrNoAnswer = errors.New("the server closed the connection without an answer")
	// ErrNoRoom means that the memory budget has no room for an output file as a data URL.
	ErrNoRoom = errors.New("not enough memory for the output file as a data URL")
	// ErrNoFile means that an output names a file that the worker did not write.
	ErrNoFile = errors.New("the file does not exist")
)

// FetchError is a file that could not be fetched.
type FetchError struct {
	Field string // as in predict.File
	URL   string // without credentials, query, fragment or data
	Cause error
}

func (e *FetchError) Error() string {
	return "cannot fetch " + e.URL + " for input " + strconv.Quote(logtext.Clip(e.Field)) + ": " +
		logtext.Clip(e.Cause.Error())
}

// Unwrap returns the cause.
func (e *FetchError) Unwrap() error { return e.Cause }

// UploadError is a file that could not be uploaded.
type UploadError struct {
	Name  string
	URL   string // the prefix, without credentials, query or fragment
	Cause error
}

func (e *UploadError) Error() string {
	return "cannot upload output file " + strconv.Quote(logtext.Clip(e.Name)) + " to " + e.URL + ": " +
		logtext.Clip(e.Cause.Error())
}

// Unwrap returns the cause.
func (e *UploadError) Unwrap() error { return e.Cause }

// redact returns the part of a URL that may be shown: its origin and path.
func redact(raw string) string {
	if isData(raw) {
		head := raw[:min(len(raw), 80)]
		if end := strings.IndexAny(head, ";,"); end >= 0 {
			head = head[:end]
		}
		return strings.ToValidUTF8(logtext.Clip(head), "") + ",…"
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "(a URL that can't be read)"
	}
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return logtext.Clip(u.String())
}
