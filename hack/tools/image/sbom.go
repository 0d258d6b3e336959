// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

// source is where the code is.
const source = "https://github.com/weir-ipam/cluster-api-ipam-provider-weir"

// unknown is SPDX's word for what nobody has looked at.
const unknown = "NOASSERTION"

// Binary is a program for one platform.
type Binary struct {
	Platform v1.Platform
	Path     string
}

// sbom returns an SPDX 2.3 document of the modules that the linker has put into the binary, by the binary's own build information.
func (r Release) sbom(b Binary) ([]byte, error) {
	content, err := os.ReadFile(b.Path)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(b.Path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	name := fmt.Sprintf("%s-%s-%s-%s", r.Program, r.Version, b.Platform.OS, b.Platform.Architecture)
	doc := spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		DocumentNamespace: source + "/spdx/" + name + "-" + hex.EncodeToString(sum[:8]),
		CreationInfo: &spdx.CreationInfo{
			Created:  r.Created.UTC().Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "The Weir Authors"}, {CreatorType: "Tool", Creator: "hack/tools/image"}},
		},
	}
	main := module(&debug.Module{Path: info.Main.Path, Version: r.Version})
	main.PackageLicenseDeclared = "Apache-2.0"
	main.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(sum[:])}}
	doc.Packages = append(doc.Packages, main, module(&debug.Module{Path: "stdlib", Version: info.GoVersion}))
	for _, dependency := range info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		doc.Packages = append(doc.Packages, module(dependency))
	}
	doc.Relationships = append(doc.Relationships, relation("DOCUMENT", common.TypeRelationshipDescribe, main.PackageSPDXIdentifier))
	for _, p := range doc.Packages[1:] {
		doc.Relationships = append(doc.Relationships, relation(main.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, p.PackageSPDXIdentifier))
	}
	var text bytes.Buffer
	err = spdxjson.Write(&doc, &text)
	return text.Bytes(), err
}

// writeSBOMs writes the document of each binary to the folder.
func (r Release) writeSBOMs(dir string, binaries []Binary) error {
	for _, b := range binaries {
		document, err := r.sbom(b)
		if err != nil {
			return fmt.Errorf("SBOM of %s: %w", b.Platform, err)
		}
		name := fmt.Sprintf("%s_%s_%s.spdx.json", r.Program, b.Platform.OS, b.Platform.Architecture)
		if err = os.WriteFile(filepath.Join(dir, name), document, 0o644); err != nil { //nolint:gosec // a release is for everybody to read
			return err
		}
	}
	return nil
}

// notAllowed is what an SPDX identifier may not have.
var notAllowed = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

func module(m *debug.Module) *spdx.Package {
	return &spdx.Package{
		PackageName: m.Path, PackageVersion: m.Version,
		PackageSPDXIdentifier:   common.ElementID("Package-" + notAllowed.ReplaceAllString(m.Path+"-"+m.Version, "-")),
		PackageDownloadLocation: unknown, PackageLicenseConcluded: unknown, PackageLicenseDeclared: unknown, PackageCopyrightText: unknown,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + m.Path + "@" + m.Version,
		}},
	}
}

func relation(from common.ElementID, kind string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: kind}
}
