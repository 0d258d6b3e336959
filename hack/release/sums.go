// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// sumsFile has the checksums, as `sha256sum --check` reads them.
const sumsFile = "SHA256SUMS"

// sumsOf returns a line for each file of the folder, in the order of the names, without the checksums themselves. A folder in it is an
// error: a release is flat.
func sumsOf(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	for _, entry := range entries {
		if entry.Name() == sumsFile {
			continue
		}
		sum, err := sumOf(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, entry.Name())
	}
	return lines.Bytes(), nil
}

// sumOf returns the SHA-256 of a file in hexadecimal digits.
func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), err
}
