package dockerfile

import (
	"fmt"
	"os"
)

// WriteFiles writes the Dockerfile and its ignore file, which docker finds by its name.
func (p *Plan) WriteFiles(file string) error {
	if err := os.WriteFile(file, []byte(p.Text()), 0o644); err != nil {
		return fmt.Errorf("write Dockerfile: %w", err)
	}
	if err := os.WriteFile(file+".dockerignore", []byte(p.Ignore()), 0o644); err != nil {
		return fmt.Errorf("write .dockerignore: %w", err)
	}
	return nil
}
