package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes which components are in the binaries, as CycloneDX. They are given by name.
func writeSBOM(o options, arch string, binaries map[string][]byte, parts []component) ([]byte, error) {
	bom := cdx.NewBOM()
	bom.SerialNumber = "" // would be random
	own := "pkg:golang/pinion@" + o.version.String()
	bom.Metadata = &cdx.Metadata{
		Timestamp: o.time.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: own, PackageURL: own + "?goarch=" + arch + "&goos=linux", Type: cdx.ComponentTypeApplication,
			Name: "pinion", Version: o.version.String(), Licenses: licenses([]string{"Apache-2.0"}),
			Hashes: hashes(binaries["pinion"]),
			Properties: &[]cdx.Property{
				{Name: "pinion:commit", Value: o.commit}, {Name: "pinion:glibc", Value: o.glibc},
			},
		},
	}
	companion := own + "#cmd/" + natsProgram
	components := []cdx.Component{{
		BOMRef: companion, PackageURL: companion, Type: cdx.ComponentTypeApplication, Name: natsProgram,
		Version:  o.version.String(),
		Licenses: licenses([]string{"Apache-2.0"}), Hashes: hashes(binaries[natsProgram]),
	}}
	refs := []string{companion}
	for _, c := range parts {
		component := cdx.Component{
			Type: cdx.ComponentTypeLibrary, Name: c.name, Version: c.version, Licenses: licenses(c.licences),
			PackageURL: "pkg:golang/" + c.name + "@" + c.version,
		}
		switch {
		case c.name == "zig" || c.name == "glibc":
			component.PackageURL = "pkg:generic/" + c.name + "@" + c.version
		case c.version == "": // replaced by a folder of this repository
			component.Version, component.PackageURL = o.version.String(), own+"#third_party/cpy3"
		}
		if sum, ok := strings.CutPrefix(c.sum, "h1:"); ok {
			raw, err := base64.StdEncoding.DecodeString(sum)
			if err != nil {
				return nil, fmt.Errorf("read checksum of %s: %w", c.name, err)
			}
			component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
		}
		component.BOMRef = component.PackageURL
		components, refs = append(components, component), append(refs, component.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: own, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom,
		cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("write SBOM: %w", err)
	}
	return out.Bytes(), nil
}

func hashes(binary []byte) *[]cdx.Hash {
	sum := sha256.Sum256(binary)
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
}

func licenses(ids []string) *cdx.Licenses {
	var choices cdx.Licenses
	for _, id := range ids {
		choices = append(choices, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return &choices
}
