// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// user is nobody's: the base is empty, so that no name stands for it.
	user = "65532:65532"
	// entryPoint is the one file of the image.
	entryPoint = "manager"
	// spdxMediaType is that of an SPDX document in JSON, as IANA has it.
	spdxMediaType types.MediaType = "application/spdx+json"
	// emptyMediaType is that of a configuration that says nothing (OCI image specification 1.1).
	emptyMediaType types.MediaType = "application/vnd.oci.empty.v1+json"
)

// Release is what all images of one build have in common.
type Release struct {
	// Version is the tag, such as "v0.1.0", and Revision the commit.
	Version, Revision string
	// Program is what the SPDX documents call the binaries, such as "manager".
	Program string
	// Created is the time of the commit, so that the same commit gives the same image.
	Created time.Time
}

// labels are OCI's annotations that say where an image comes from.
func (r Release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "Weir, a Cluster API IPAM provider",
		"org.opencontainers.image.source":      source,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     r.Version,
		"org.opencontainers.image.revision":    r.Revision,
		"org.opencontainers.image.created":     r.Created.UTC().Format(time.RFC3339),
		"org.opencontainers.image.description": "Answers claims for IP addresses and prefixes out of hierarchical pools",
	}
}

// Built is the index of a release, and the SBOMs of its images, which refer to them.
type Built struct {
	Index v1.ImageIndex
	SBOMs []v1.Image
}

// Build makes an image of each binary: one layer with one file, on nothing.
func (r Release) Build(binaries []Binary) (Built, error) {
	built := Built{Index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, b := range binaries {
		image, err := r.image(b)
		if err != nil {
			return Built{}, fmt.Errorf("image of %s: %w", b.Platform, err)
		}
		platform := b.Platform
		built.Index = mutate.AppendManifests(built.Index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
		document, err := r.sbom(b)
		if err != nil {
			return Built{}, fmt.Errorf("SBOM of %s: %w", b.Platform, err)
		}
		referrer, err := r.attach(document, image)
		if err != nil {
			return Built{}, fmt.Errorf("attaching the SBOM of %s: %w", b.Platform, err)
		}
		built.SBOMs = append(built.SBOMs, referrer)
	}
	built.Index, _ = mutate.Annotations(built.Index, r.labels()).(v1.ImageIndex)
	return built, nil
}

func (r Release) image(b Binary) (v1.Image, error) {
	layer, err := layerOf(b.Path, r.Created)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: r.Created}, CreatedBy: "hack/tools/image", Comment: "/" + entryPoint},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = b.Platform.OS, b.Platform.Architecture, b.Platform.Variant
	config.Created = v1.Time{Time: r.Created}
	config.Config.User, config.Config.Entrypoint, config.Config.Labels = user, []string{"/" + entryPoint}, r.labels()
	return mutate.ConfigFile(image, config)
}

// layerOf returns a layer with the one file, whose owner is root and whose time is that of the commit.
func layerOf(path string, created time.Time) (v1.Layer, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: entryPoint, Mode: 0o755, Size: int64(len(content)), ModTime: created, Format: tar.FormatPAX}
	if err = writeFile(w, header, content); err != nil {
		return nil, err
	}
	if err = w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

func writeFile(w *tar.Writer, header *tar.Header, content []byte) error {
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// attach returns a manifest that has the document and refers to the image, as registries list it among the image's referrers.
func (r Release) attach(document []byte, image v1.Image) (v1.Image, error) {
	digest, err := image.Digest()
	if err != nil {
		return nil, err
	}
	size, err := image.Size()
	if err != nil {
		return nil, err
	}
	referrer := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), emptyMediaType)
	referrer, err = mutate.Append(referrer, mutate.Addendum{Layer: static.NewLayer(document, spdxMediaType)})
	if err != nil {
		return nil, err
	}
	referrer, _ = mutate.Annotations(referrer, map[string]string{
		"org.opencontainers.image.created": r.Created.UTC().Format(time.RFC3339),
	}).(v1.Image)
	subject := v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: digest, Size: size}
	withSubject, ok := mutate.Subject(referrer, subject).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("the subject of %s was not taken", digest)
	}
	return withSubject, nil
}
