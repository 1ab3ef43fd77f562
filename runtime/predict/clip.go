package predict

import "pinion/runtime/logtext"

// MaxShown is how many bytes of a client's text a log line or an error shows.
const MaxShown = logtext.MaxShown

func Clip(text string) string { return logtext.Clip(text) }
