// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Archive writes an OCI archive: an image layout in a tar file, the entries in the order of their names. The index has the tag; the SBOMs
// stand beside it, as a layout has what refers to an image.
func (b Built) Archive(path, tag string, created time.Time) (err error) {
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err = l.AppendIndex(b.Index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})); err != nil {
		return err
	}
	for _, sbom := range b.SBOMs {
		if err = l.AppendImage(sbom); err != nil {
			return err
		}
	}
	return archive(dir, path, created)
}

// archive writes the files of a folder to a tar file, each with that time and root as owner.
func archive(dir, path string, modified time.Time) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := tar.NewWriter(file)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error { // in the order of the names
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return writeFile(w, &tar.Header{
			Typeflag: tar.TypeReg, Name: filepath.ToSlash(relative), Mode: 0o644, Size: int64(len(content)), ModTime: modified, Format: tar.FormatPAX,
		}, content)
	})
	return errors.Join(err, w.Close())
}

// Push writes the same to a registry, with the user's own login (docker's configuration). The SBOMs go first: who sees the tag finds them.
func (b Built) Push(ctx context.Context, reference string) error {
	tag, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	index, err := b.Index.IndexManifest()
	if err != nil {
		return err
	}
	for i, sbom := range b.SBOMs {
		image, err := b.Index.Image(index.Manifests[i].Digest)
		if err != nil {
			return err
		}
		if err = remote.Write(tag.Context().Digest(index.Manifests[i].Digest.String()), image, options...); err != nil {
			return fmt.Errorf("pushing an image: %w", err)
		}
		digest, err := sbom.Digest()
		if err != nil {
			return err
		}
		if err = remote.Write(tag.Context().Digest(digest.String()), sbom, options...); err != nil {
			return fmt.Errorf("pushing an SBOM: %w", err)
		}
	}
	return remote.WriteIndex(tag, b.Index, options...)
}
