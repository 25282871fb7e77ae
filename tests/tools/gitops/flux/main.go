// Command flux serves the git repositories of a folder to Flux, which reads none from a disk.
package main

import (
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("Usage: flux FOLDER ADDRESS")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(os.Args[2], &cgi.Handler{
		Path: git,
		Args: []string{"http-backend"},
		Env:  []string{"GIT_PROJECT_ROOT=" + os.Args[1], "GIT_HTTP_EXPORT_ALL=1"},
	}))
}
