// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image makes the container image of the manager, without a container engine: an index with an image for each platform and an
// SPDX document for each. The same commit gives the same digest, on every machine.
//
//	image -version v0.1.0 -revision 0a1b2c -created 1764200000 -output image.tar linux/amd64=manager-amd64 linux/arm64=manager-arm64
//
// With -sbom it writes the SPDX documents of any program's binaries as files, and no image.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run builds the images of the binaries that args name, and prints the digest of their index.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	var r Release
	flags.StringVar(&r.Version, "version", "", "The release, such as v0.1.0: the tag in the archive.")
	flags.StringVar(&r.Revision, "revision", "", "The commit that the binaries were built from.")
	created := flags.Int64("created", 0, "The time of the commit, in seconds since 1970.")
	output := flags.String("output", "", "The OCI archive to write.")
	flags.StringVar(&r.Program, "program", entryPoint, "What the SPDX documents call the binaries.")
	sboms := flags.String("sbom", "", "The folder to write the SPDX document of each binary to, as PROGRAM_OS_ARCH.spdx.json.")
	push := flags.String("push", "", "The image, with tag, to push to its registry.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.Created = time.Unix(*created, 0).UTC()
	binaries, err := binariesOf(flags.Args())
	if err != nil {
		return err
	}
	if r.Version == "" || *output == "" && *push == "" && *sboms == "" {
		return errors.New("-version, and one of -output, -push and -sbom, are required")
	}
	if *sboms != "" {
		return r.writeSBOMs(*sboms, binaries)
	}
	built, err := r.Build(binaries)
	if err != nil {
		return err
	}
	if *output != "" {
		err = built.Archive(*output, r.Version, r.Created)
	}
	if err == nil && *push != "" {
		err = built.Push(ctx, *push)
	}
	if err != nil {
		return err
	}
	digest, err := built.Index.Digest()
	if err == nil {
		fmt.Println(digest)
	}
	return err
}

// binariesOf reads arguments such as linux/amd64=path.
func binariesOf(args []string) ([]Binary, error) {
	binaries := make([]Binary, 0, len(args))
	for _, arg := range args {
		text, path, ok := strings.Cut(arg, "=")
		platform, err := v1.ParsePlatform(text)
		if !ok || err != nil || platform.OS == "" || platform.Architecture == "" {
			return nil, fmt.Errorf("%q is not os/architecture=path", arg)
		}
		binaries = append(binaries, Binary{Platform: *platform, Path: path})
	}
	if len(binaries) == 0 {
		return nil, errors.New("no binary is named")
	}
	return binaries, nil
}
