/// The status page at `/`. It polls `/status` every two seconds and shows the result as text, so text from clients
/// never becomes HTML.
enum StatusPage {
    static let html = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <title>Nephos</title>
        <style>
        body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222;
          background: #fff; }
        h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
        table { border-collapse: collapse; width: 100%; }
        th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #ddd; vertical-align: top;
          white-space: nowrap; max-width: 16rem; overflow: hidden; text-overflow: ellipsis; }
        td:last-child { white-space: normal; max-width: none; overflow-wrap: anywhere; }
        td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
        code { background: #f3f3f3; padding: .1rem .3rem; }
        .bad { color: #b00020; } .quiet { color: #777; }
        @media (prefers-color-scheme: dark) {
          body { color: #ddd; background: #181818; } th, td { border-color: #333; } code { background: #2a2a2a; }
          .bad { color: #ff7a7a; } }
        </style>
        </head>
        <body>
        <h1>Nephos <span class="quiet">the local CloudKit</span></h1>
        <p>Apps: <code id="apps"></code> &nbsp; Web Services: <code>?ckAPIToken=any&amp;ckWebAuthToken=dev:NAME</code></p>
        <p id="state" class="quiet" role="status">…</p>
        <div id="containers"></div>
        <h2>Last requests</h2>
        <table id="requests"></table>
        <script>
        "use strict";
        const byID = (id) => document.getElementById(id);
        byID("apps").textContent = "NEPHOS_URL=" + location.origin + " NEPHOS_TOKEN=dev:NAME";
        function element(name, text, className) {
          const made = document.createElement(name);
          if (text !== undefined && text !== null) made.textContent = text;
          if (className) made.className = className;
          return made;
        }
        function row(kind, cells) {
          const made = element("tr");
          for (const [text, className] of cells) made.append(element(kind, text, className));
          return made;
        }
        function showContainer(container) {
          const made = element("section");
          const more = container.isComplete ? "" : " and more";
          made.append(element("h2", container.container + ", " + container.environment));
          made.append(element("p", container.accounts.length + " accounts: " + (container.accounts.join(", ") || "none")
            + "; " + container.zones + " zones" + more, "quiet"));
          const table = element("table");
          table.append(row("th", [["record type"], ["records", "number"]]));
          for (const type of container.recordTypes) {
            table.append(row("td", [[type.name], [type.records.toLocaleString() + (container.isComplete ? "" : "+"), "number"]]));
          }
          if (container.recordTypes.length) made.append(table);
          return made;
        }
        function showRequest(request) {
          const failed = request.failedItems ? ", " + request.failedItems + " failed" : "";
          const isBad = request.status >= 400 || failed;
          const production = request.environment === "production" ? ", production" : "";
          return row("td", [[new Date(request.time).toLocaleTimeString()], [request.status + failed, isBad ? "bad" : ""],
            [request.milliseconds + " ms", "number"], [request.account || "—"],
            [request.container ? request.container + production : ""], [request.database || ""], [request.endpoint],
            [request.errorCode ? request.errorCode + ": " + request.reason + " (" + request.requestID + ")"
              : request.summary || "", isBad ? "bad" : ""]]);
        }
        async function show() {
          try {
            const answer = await fetch("/status");
            const status = await answer.json();
            if (!answer.ok) throw new Error(status.reason);
            byID("state").textContent = status.answered + " requests answered since this page, or the log, began to look";
            byID("containers").replaceChildren(...status.containers.map(showContainer));
            byID("requests").replaceChildren(row("th", [["time"], ["status"], ["took", "number"], ["account"],
              ["container"], ["database"], ["endpoint"], ["what"]]), ...status.requests.map(showRequest));
          } catch (error) {
            byID("state").textContent = "The server does not answer: " + error.message;
          }
          setTimeout(show, 2000);
        }
        show();
        </script>
        <noscript>This page shows what the server says at <a href="/status">/status</a>, and needs JavaScript for it.</noscript>
        </body>
        </html>

        """#
}
