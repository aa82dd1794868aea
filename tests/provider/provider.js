// An identity provider for tests, by the certified library oidc-provider: node provider.js PORT CALLBACK PEOPLE, where PEOPLE is a file
// with the claims of each login, read anew for each question. Any password will do.
import { readFileSync } from "node:fs";
import { Provider } from "oidc-provider";

const [port, callback, people] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: "annotation", client_secret: "secret", redirect_uris: [callback] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username", "groups"] },
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({ sub, ...JSON.parse(readFileSync(people))[sub] }),
  }),
  cookies: { keys: ["a key for tests"] },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
