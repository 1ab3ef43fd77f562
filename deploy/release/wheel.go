package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"pinion/pyembed/sdk"
)

// distribution is the wheel's name on a package index. `pinion` is another project there.
const distribution = "pinion-server"

func wheelName(version, tag string) string {
	return fmt.Sprintf("%s-%s-py3-none-%s.whl", strings.ReplaceAll(distribution, "-", "_"), version, tag)
}

// writeWheel writes a wheel that installs the commands, and the types of the cog package for type checkers (PEP 561).
// It installs no module: a `cog` package of the environment stays as it is.
func writeWheel(w io.Writer, version, tag string, files []file, modified time.Time) error {
	stem := strings.ReplaceAll(distribution, "-", "_") + "-" + version
	info := stem + ".dist-info/"
	places := map[string]string{
		"pinion":          stem + ".data/scripts/pinion",
		"pinion-nats":     stem + ".data/scripts/pinion-nats",
		"LICENSE":         info + "licenses/LICENSE",
		"NOTICES.txt":     info + "licenses/NOTICES.txt",
		"pinion.cdx.json": info + "sboms/pinion.cdx.json", // PEP 770
	}
	packed := []file{
		{info + "METADATA", []byte(metadata(version)), 0o644},
		{info + "WHEEL", []byte("Wheel-Version: 1.0\nGenerator: pinion deploy/release\nRoot-Is-Purelib: false\n" +
			"Tag: py3-none-" + tag + "\n"), 0o644},
	}
	stubs, err := stubs()
	if err != nil {
		return err
	}
	packed = append(packed, stubs...)
	for _, f := range files {
		if place := places[f.name]; place != "" {
			packed = append(packed, file{place, f.content, f.mode})
		}
	}
	packed = sorted(packed)
	var record strings.Builder
	for _, f := range packed {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	packed = append(packed, file{info + "RECORD", []byte(record.String()), 0o644}) // last, as PEP 427 advises

	archive := zip.NewWriter(w)
	for _, f := range packed {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified}
		header.SetMode(fs.FileMode(f.mode))
		part, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := part.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// stubs are the types of the cog package. Its own sources are annotated; a type checker reads no bodies of a stub.
func stubs() ([]file, error) {
	var found []file
	err := fs.WalkDir(sdk.FS(), "cog", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".py" {
			return err
		}
		if strings.HasPrefix(name, "cog/_worker/") && name != "cog/_worker/__init__.py" && name != "cog/_worker/scope.py" {
			return nil // the server's own
		}
		text, err := fs.ReadFile(sdk.FS(), name)
		found = append(found, file{"cog-stubs/" + strings.TrimPrefix(name, "cog/") + "i", text, 0o644})
		return err
	})
	return found, err
}

func metadata(version string) string {
	return `Metadata-Version: 2.4
Name: ` + distribution + `
Version: ` + version + `
Summary: The server Pinion: serves a Python model over HTTP with Cog's prediction API
License-Expression: Apache-2.0
License-File: LICENSE
License-File: NOTICES.txt
Requires-Python: >=3.10
Classifier: Operating System :: POSIX :: Linux
Description-Content-Type: text/markdown

The wheel puts the command ` + "`pinion`" + ` beside the packages of a model. It holds no Python module, only the types of the
package ` + "`cog`" + ` that the server gives to models, for editors and type checkers.

    pinion serve DIR

serves the model in the folder DIR with the Python of the environment.
`
}
