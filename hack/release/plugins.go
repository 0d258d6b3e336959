// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	program    = "kubectl-weir"
	completion = "kubectl_complete-weir"
	licence    = "LICENSE"
)

// archive is the plugin for one platform.
type archive struct {
	os, arch string
	// name is the file's, sum its SHA-256 in hexadecimal digits.
	name, sum string
}

// program is the name of the binary in the archive.
func (a archive) program() string {
	if a.os == "windows" {
		return program + ".exe"
	}
	return program
}

// packPlugins packs each binary, in the order of their names.
func (r release) packPlugins() ([]archive, error) {
	paths, err := filepath.Glob(filepath.Join(r.plugins, program+"_*_*"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s has no %s_OS_ARCH", r.plugins, program)
	}
	archives := make([]archive, 0, len(paths))
	for _, path := range paths {
		parts := strings.Split(filepath.Base(path), "_")
		a := archive{os: parts[1], arch: parts[2], name: filepath.Base(path) + ".tar.gz"}
		content, err := r.pack(a, path)
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", path, err)
		}
		if err = r.write(a.name, content); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		a.sum = hex.EncodeToString(sum[:])
		archives = append(archives, a)
	}
	return archives, nil
}

// pack returns the archive: the binary, the licence and, but for Windows, what completes the plugin's arguments.
func (r release) pack(a archive, path string) ([]byte, error) {
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zip)
	err = errors.Join(r.add(w, licence, licence, 0o644), r.add(w, a.program(), path, 0o755))
	if a.os != "windows" {
		err = errors.Join(err, r.add(w, completion, filepath.Join("cmd", program, completion), 0o755))
	}
	err = errors.Join(err, w.Close(), zip.Close()) // before the bytes are read: closing writes the rest
	return packed.Bytes(), err
}

// add puts a file into an archive, with the time of the commit and root as owner.
func (r release) add(w *tar.Writer, name, path string, mode int64) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: r.created, Format: tar.FormatPAX}
	if err = w.WriteHeader(header); err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}
