// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keys of the Secret.
const (
	certKey  = corev1.TLSCertKey
	caKey    = "ca.crt"
	caKeyKey = "ca.key"
)

// bridging is a client that lets an old and a new CA stand beside each other: cert-controller by itself replaces CA and certificate at once, and
// until the kubelet has written the certificate to its folder, API servers would refuse the one that is served.
type bridging struct {
	client.Client

	live client.Reader
}

// Update writes an object. To a Secret with a new CA it adds what bridge does.
func (b bridging) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	secret, isSecret := object.(*corev1.Secret)
	if !isSecret {
		return b.Client.Update(ctx, object, opts...)
	}
	before := &corev1.Secret{}
	if err := b.live.Get(ctx, client.ObjectKeyFromObject(secret), before); err != nil {
		return fmt.Errorf("reading the certificate that is to be replaced: %w", err)
	}
	if before.ResourceVersion == secret.ResourceVersion { // else the update fails
		if err := bridge(before.Data, secret.Data); err != nil {
			return fmt.Errorf("signing the new CA of the webhooks: %w", err)
		}
	}
	return b.Client.Update(ctx, secret, opts...)
}

// bridge changes what a Secret will hold, after, by what it holds before. If the CA changes, ca.crt has both, the new one first, and behind
// the certificate in tls.crt comes the new CA, signed by the old one. So who trusts the old CA alone accepts the new certificate, and who trusts ca.crt
// accepts both. What cannot be read before is no CA that anything could be signed by, and is replaced.
func bridge(before, after map[string][]byte) error {
	old, key, err := authority(before)
	if err != nil {
		return nil //nolint:nilerr // nobody trusts it
	}
	next, err := parseCertificate(after[caKey])
	if err != nil {
		return err
	}
	if bytes.Equal(next.RawSubjectPublicKeyInfo, old.RawSubjectPublicKeyInfo) {
		return nil
	}
	signed, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: next.Subject, DNSNames: next.DNSNames, NotBefore: next.NotBefore, NotAfter: next.NotAfter,
		KeyUsage: next.KeyUsage, BasicConstraintsValid: true, IsCA: true, SubjectKeyId: next.SubjectKeyId, AuthorityKeyId: old.SubjectKeyId,
	}, old, next.PublicKey, key)
	if err != nil {
		return err
	}
	after[caKey] = slices.Concat(encode(next.Raw), encode(old.Raw))
	after[certKey] = slices.Concat(after[certKey], encode(signed))
	return nil
}

// authority returns the newest CA of a Secret, and its key.
func authority(data map[string][]byte) (*x509.Certificate, crypto.Signer, error) {
	certificate, err := parseCertificate(data[caKey])
	if err != nil {
		return nil, nil, err
	}
	block, _ := pem.Decode(data[caKeyKey])
	if block == nil {
		return nil, nil, errors.New(caKeyKey + " is no PEM")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	if !key.PublicKey.Equal(certificate.PublicKey) {
		return nil, nil, errors.New(caKeyKey + " is not the key of " + caKey)
	}
	return certificate, key, nil
}

// parseCertificate returns the first certificate of a PEM text.
func parseCertificate(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the certificate is no PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
