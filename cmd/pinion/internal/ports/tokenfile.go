package ports

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/httpd/access"
)

const (
	maxTokenFile = 1 << 20 // bytes
	shortToken   = 16      // characters; one that is shorter can be guessed
)

// TokenFile is a file with the bearer tokens that the server takes, one a line.
type TokenFile struct {
	path    string
	log     *slog.Logger
	mu      sync.Mutex // one read at a time
	current access.Tokens
}

// OpenTokenFile reads the tokens.
func OpenTokenFile(path string, log *slog.Logger) (*TokenFile, error) {
	t := &TokenFile{path: path, log: log}
	if err := t.read(); err != nil {
		return nil, process.Misused(fmt.Errorf("--auth-token-file %s: %w", path, err))
	}
	return t, nil
}

// Tokens returns the tokens of the file; nil if there is none.
func (t *TokenFile) Tokens() *access.Tokens {
	if t == nil {
		return nil
	}
	return &t.current
}

// Reload reads the file again. One that cannot be used leaves the tokens as they are.
func (t *TokenFile) Reload() {
	if t == nil {
		return
	}
	if err := t.read(); err != nil {
		t.log.Error("the tokens are not reloaded: those read before stay valid", "file", t.path, "error", err)
	}
}

func (t *TokenFile) read() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	file, err := os.Open(t.path)
	if err != nil {
		return usertext.Reason(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return usertext.Reason(err)
	}
	text, err := usertext.ReadFrom(file, maxTokenFile)
	if err != nil {
		return usertext.Reason(err)
	}
	tokens, err := parseTokens(string(text))
	if err != nil {
		return err
	}
	if mode := info.Mode(); mode.IsRegular() && mode.Perm()&0o027 != 0 {
		t.log.Warn("the token file is open to other users: set its mode to 0600", "file", t.path, "mode",
			fmt.Sprintf("%#o", mode.Perm()))
	}
	for i, token := range tokens {
		if len(token) < shortToken {
			t.log.Warn("a token is short enough to be guessed", "file", t.path, "token", i+1, "characters", len(token),
				"at_least", shortToken)
		}
	}
	t.current.Set(tokens)
	t.log.Info("tokens read", "file", t.path, "tokens", len(tokens))
	return nil
}

// parseTokens reads tokens, one a line. Empty lines count for nothing, nor do those that begin with #. No error shows a
// token.
func parseTokens(text string) (tokens []string, err error) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if strings.ContainsFunc(line, func(r rune) bool { return !tokenRune(r) }) {
			return nil, fmt.Errorf("line %d: invalid token: must be made of letters, digits and -._~+/=", i+1)
		}
		tokens = append(tokens, line)
	}
	if len(tokens) == 0 {
		return nil, errors.New("the file has no token")
	}
	return tokens, nil
}

// tokenRune reports whether r may be in a bearer token (RFC 6750, section 2.1).
func tokenRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~+/=", r)
}
