// Package body reads the bodies of requests: inflated, within the memory budget or on disk, and never beyond the limit
// of a body. A Body is what was read, and who has it frees it.
//
// Guarantees:
//
//   - The unread rest of a body is never parsed as a request.
//   - The memory of a body is bounded, compressed or not; a body that is only announced takes none from others.
//   - A body that did not arrive whole is an error, in chunks or with a length.
//
// Package httpd and the other protocols import it. It knows connections (package transport), and no answers.
package body
