package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"io/fs"
	"slices"
	"time"
)

// A File is one file of an archive.
type File struct {
	Name string // with slashes
	Mode fs.FileMode
	Data []byte
}

// sorted returns the files by name, below a folder.
func sorted(folder string, files []File) []File {
	below := slices.Clone(files)
	for i := range below {
		below[i].Name = folder + "/" + below[i].Name
	}
	slices.SortFunc(below, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return below
}

// tarGz returns a compressed tar archive of the files, below a folder. It depends on nothing but what is given.
func tarGz(folder string, files []File, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range sorted(folder, files) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.Name, Mode: int64(f.Mode), Size: int64(len(f.Data)), ModTime: at.UTC(),
			Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := closed(archive, compressed); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipped is tarGz for Windows.
func zipped(folder string, files []File, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, f := range sorted(folder, files) {
		header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(f.Mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := closed(archive); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func closed(all ...io.Closer) error {
	for _, c := range all {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}
