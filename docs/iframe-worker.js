// A Worker for pages that are opened as files, where browsers start none: the script runs in a hidden
// frame. The search of the site needs no more of it. Source: the interface of dedicated workers in
// the HTML standard, https://html.spec.whatwg.org/multipage/workers.html
//
// Trade-off: it runs on the page's own thread, so a search of a large site is felt while typing.

class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    this.frame.title = "Search";
    document.body.append(this.frame);
    const inside = this.frame.contentWindow;
    inside.postMessage = (data) => this.receive(data);
    inside.importScripts = (...urls) => urls.reduce((before, one) => before.then(() => this.load(one)), Promise.resolve());
    this.ready = this.load(url);
  }

  postMessage(data) {
    this.ready.then(() => {
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) }));
    });
  }

  terminate() {
    this.frame.remove();
  }

  receive(data) {
    const event = new MessageEvent("message", { data: structuredClone(data) });
    this.dispatchEvent(event);
    this.onmessage?.(event);
  }

  // Runs a script in the frame; resolves when it has run.
  load(url) {
    const inside = this.frame.contentDocument;
    return new Promise((done, failed) => {
      const script = inside.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = done;
      script.onerror = () => failed(new Error(`${url} cannot be read`));
      inside.body.append(script);
    });
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;
