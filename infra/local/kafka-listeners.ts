export interface KafkaUser {
  username: string;
  password: string;
}

/** Where one of our brokers listens on 127.0.0.1, and what it requires of clients. */
export interface KafkaListener {
  name: string;
  port: number;
  sasl: boolean;
  tls: boolean;
}

export interface ListenerOptions {
  controllerPort: number;
  /** Who may sign in on SASL listeners. */
  users: readonly KafkaUser[];
  /** A file with key and certificate. */
  pem: string | undefined;
}

/** Listeners as broker settings. The broker connects to itself by the last one. */
export function listenerSettings(listeners: readonly KafkaListener[], options: ListenerOptions): string {
  const { controllerPort, users, pem } = options;
  const addresses = listeners.map(({ name, port }) => `${name}://127.0.0.1:${port}`);
  const protocols = listeners.map(
    ({ name, sasl, tls }) => `${name}:${sasl ? 'SASL_' : ''}${tls ? 'SSL' : 'PLAINTEXT'}`,
  );
  return `
listeners=${addresses.join(',')},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=${addresses.join(',')}
listener.security.protocol.map=${protocols.join(',')},CONTROLLER:PLAINTEXT
inter.broker.listener.name=${listeners.at(-1)!.name}
${pem ? `ssl.keystore.type=PEM\nssl.keystore.location=${pem}` : ''}
${listeners.flatMap(({ name, sasl }) => (sasl ? [signIn(name.toLowerCase(), users)] : [])).join('')}`;
}

/** The option for formatting a broker's folder that adds a SCRAM user. */
export const scramUser = ({ username, password }: KafkaUser): string[] =>
  [256, 512].flatMap((bits) => ['--add-scram', `SCRAM-SHA-${bits}=[name=${username},password=${password}]`]);

const signIn = (listener: string, users: readonly KafkaUser[]): string => `
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.${listener}.plain.sasl.jaas.config=${module}.plain.PlainLoginModule required ${users.map(plainUser).join(' ')};
listener.name.${listener}.scram-sha-256.sasl.jaas.config=${module}.scram.ScramLoginModule required;
listener.name.${listener}.scram-sha-512.sasl.jaas.config=${module}.scram.ScramLoginModule required;
`;

const module = 'org.apache.kafka.common.security';

const plainUser = ({ username, password }: KafkaUser): string => `user_${username}="${password}"`;
