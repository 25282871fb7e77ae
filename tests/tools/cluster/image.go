package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const nobodyElse = 65532

// load is the command of that name.
func load(p places, args []string) error {
	if len(args) < 2 {
		return usageError("load needs a name, and a binary or --archive")
	}
	f, err := p.running()
	if err != nil {
		return err
	}
	var image v1.Image
	if args[1] == "--archive" {
		if len(args) != 3 {
			return usageError("--archive needs one file")
		}
		if image, err = tarball.ImageFromPath(args[2], nil); err != nil {
			return fmt.Errorf("%s is no archive of one image: %w", args[2], err)
		}
	} else {
		var binaries []binary
		for _, arg := range args[1:] {
			if strings.HasPrefix(arg, "-") {
				return usageError(fmt.Sprintf("unknown option %q", arg))
			}
			b, err := parseBinary(arg)
			if err != nil {
				return err
			}
			binaries = append(binaries, b)
		}
		if image, err = imageOf(binaries); err != nil {
			return err
		}
	}
	return push(f, args[0], image)
}

// binary is a program for an image.
type binary struct {
	source, path string
}

func parseBinary(arg string) (binary, error) {
	source, path, isGiven := strings.Cut(arg, "=")
	if !isGiven {
		path = "/" + filepath.Base(source)
	}
	if !filepath.IsAbs(path) {
		return binary{}, usageError(fmt.Sprintf("the path in the image must be absolute: %q", path))
	}
	return binary{source, filepath.Clean(path)}, nil
}

// push gives the cluster's registry an image. Nodes ask it for the name without its registry.
func push(f facts, reference string, image v1.Image) error {
	parsed, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	tag, isTag := parsed.(name.Tag)
	if !isTag {
		return fmt.Errorf("%s has a digest: name an image that is loaded by a tag", reference)
	}
	registry, err := name.NewRegistry(net.JoinHostPort("127.0.0.1", strconv.Itoa(f.RegistryPort)), name.Insecure)
	if err != nil {
		return err
	}
	return remote.Write(registry.Repo(tag.RepositoryStr()).Tag(tag.TagStr()), image)
}

// imageOf makes an image of programs and the libraries that they are linked with.
func imageOf(binaries []binary) (v1.Image, error) {
	layer, err := layerOf(binaries)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", architecture()
	file.Config.Entrypoint = []string{binaries[0].path}
	file.Config.User = fmt.Sprintf("%d:%d", nobodyElse, nobodyElse)
	file.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	return mutate.ConfigFile(image, file)
}

// layerOf returns everything in an image. It is not compressed: that takes longer than copying it.
func layerOf(binaries []binary) (v1.Layer, error) {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	done := map[string]bool{"/": true}
	add := func(header *tar.Header, content io.Reader) error {
		if done[header.Name] {
			return nil
		}
		done[header.Name] = true
		header.Name = strings.TrimPrefix(header.Name, "/")
		if err := archive.WriteHeader(header); err != nil || content == nil {
			return err
		}
		_, err := io.Copy(archive, content)
		return err
	}
	var folder func(path string, mode int64) error
	folder = func(path string, mode int64) error {
		if done[path] {
			return nil
		}
		if err := folder(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return add(&tar.Header{Typeflag: tar.TypeDir, Name: path, Mode: mode}, nil)
	}
	file := func(source, path string) error {
		content, err := os.Open(source)
		if err != nil {
			return err
		}
		defer content.Close()
		info, err := content.Stat()
		if err != nil {
			return err
		}
		if err := folder(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return add(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o755, Size: info.Size()}, content)
	}

	for _, b := range binaries {
		if err := file(b.source, b.path); err != nil {
			return nil, err
		}
		libraries, err := librariesOf(b.source)
		if err != nil {
			return nil, err
		}
		for _, path := range libraries {
			if err := file(path, path); err != nil {
				return nil, err
			}
		}
	}
	if err := folder("/tmp", 0o1777); err != nil {
		return nil, err
	}
	if err := folder("/etc", 0o755); err != nil {
		return nil, err
	}
	for path, text := range map[string]string{
		"/etc/passwd": fmt.Sprintf("root:x:0:0:root:/:/bin/sh\nnonroot:x:%d:%d:nonroot:/:/bin/sh\n", nobodyElse, nobodyElse),
		"/etc/group":  fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", nobodyElse),
	} {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(text))}
		if err := add(header, strings.NewReader(text)); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return static.NewLayer(buffer.Bytes(), types.OCIUncompressedLayer), nil
}

// librariesOf returns the files that the dynamic linker loads for a program, and the linker itself.
func librariesOf(path string) ([]string, error) {
	parsed, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s is no program: %w", path, err)
	}
	defer parsed.Close()
	isDynamic := false
	for _, part := range parsed.Progs {
		isDynamic = isDynamic || part.Type == elf.PT_INTERP
	}
	if !isDynamic {
		return nil, nil
	}
	output, err := exec.Command("ldd", path).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w: %s", path, err, output)
	}
	var found []string
	for line := range strings.Lines(string(output)) {
		// libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…), or /lib64/ld-linux-x86-64.so.2 (0x…)
		if strings.Contains(line, "not found") {
			return nil, fmt.Errorf("%s needs a library that is not installed: %s", path, strings.TrimSpace(line))
		}
		for _, word := range strings.Fields(line) {
			if filepath.IsAbs(word) {
				found = append(found, word)
				break
			}
		}
	}
	return found, nil
}
