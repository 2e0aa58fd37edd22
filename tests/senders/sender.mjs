// Reads a list of commands as JSON from standard input, and writes what came of each.
//
// post: signs a body with the provider's official SDK and POSTs it, as the provider does.
// verify: lets the SDK judge a body and its headers, as a customer of the provider would.
import { sign, verify } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";

const stripe = new Stripe("sk_test_unused");

const kinds = {
  stripe: {
    sign: ({ secret, body, timestamp }) => ({
      "content-type": "application/json; charset=utf-8",
      "user-agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
      "stripe-signature": stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp }),
    }),
    verify: ({ secret, body, headers }) => {
      stripe.webhooks.constructEvent(body, headers["Stripe-Signature"], secret);
    },
  },
  github: {
    sign: async ({ secret, body, id, event, contentType }) => ({
      "content-type": contentType ?? "application/json",
      "user-agent": "GitHub-Hookshot/044aadd",
      "x-github-delivery": id,
      "x-github-event": event,
      "x-hub-signature-256": await sign(secret, body),
    }),
    verify: async ({ secret, body, headers }) => {
      if (!(await verify(secret, body, headers["X-Hub-Signature-256"]))) throw new Error("not verified");
    },
  },
  "standard-webhooks": {
    sign: ({ secret, body, id, timestamp }) => {
      const at = new Date((timestamp ?? Math.floor(Date.now() / 1000)) * 1000);
      return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
        "webhook-signature": new Webhook(secret).sign(id, at, body),
      };
    },
    verify: ({ secret, body, headers }) => {
      const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
      new Webhook(secret).verify(body, lower);
    },
  },
};

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);

async function run(command) {
  const kind = kinds[command.kind];
  if (command.do === "verify") {
    await kind.verify(command);
    return { verified: true };
  }
  const headers = await kind.sign(command);
  const response = await fetch(command.url, { method: "POST", headers, body: command.sent ?? command.body });
  return { status: response.status, body: await response.text() };
}

const results = [];
for (const command of JSON.parse(Buffer.concat(chunks).toString("utf8"))) results.push(await run(command));
console.log(JSON.stringify(results));
