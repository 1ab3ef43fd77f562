package logtext

import "log/slog"

// LevelDraft is the level of a line that has not ended: the next record replaces it. A log that cannot draw over what
// it has shown does not enable it.
const LevelDraft = slog.Level(-100)
