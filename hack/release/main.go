// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release completes the folder of a release, after manifests, image and binaries were built: it packs the plugin, writes krew's
// manifest, the notes and the checksums, and refuses a version that clusterctl could not install.
//
//	release -version v0.1.0 -created 1764200000 -section v0.1.0 -plugins out/plugins out/ipam-weir/v0.1.0
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// repository is where the code and its releases are.
const repository = "https://github.com/weir-ipam/cluster-api-ipam-provider-weir"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what one run puts together.
type release struct {
	// version is the tag, such as "v0.1.0".
	version string
	// created is the time of the commit, which every packed file has.
	created time.Time
	// section is the heading of the CHANGELOG whose text the notes are.
	section string
	// plugins has the binaries, kubectl-weir_OS_ARCH; dir is the release.
	plugins, dir string
}

func run(args []string) error {
	var r release
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "The release, such as v0.1.0.")
	flags.StringVar(&r.section, "section", "", "The heading of CHANGELOG.md whose text the notes are.")
	flags.StringVar(&r.plugins, "plugins", "", "The folder with the plugin's binaries, kubectl-weir_OS_ARCH.")
	created := flags.Int64("created", 0, "The time of the commit, in seconds since 1970.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || r.plugins == "" || r.section == "" {
		return errors.New("-plugins, -section and one folder are required")
	}
	r.dir, r.created = flags.Arg(0), time.Unix(*created, 0).UTC()
	return r.complete()
}

// complete writes what the folder lacks, the checksums last.
func (r release) complete() error {
	if err := checkVersion(r.version, "go.mod", "metadata.yaml"); err != nil {
		return err
	}
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, err := notesOf(string(changelog), r.section, r.version)
	if err != nil {
		return err
	}
	if err = r.write("RELEASE_NOTES.md", []byte(notes)); err != nil {
		return err
	}
	archives, err := r.packPlugins()
	if err != nil {
		return err
	}
	manifest, err := krewManifest(r.version, archives)
	if err != nil {
		return err
	}
	if err = r.write(krewFile, manifest); err != nil {
		return err
	}
	sums, err := sumsOf(r.dir)
	if err != nil {
		return err
	}
	return r.write(sumsFile, sums)
}

func (r release) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.dir, name), content, 0o644)
}
