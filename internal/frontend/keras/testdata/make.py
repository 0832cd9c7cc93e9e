# Writes small.h5 and small.keras, one model in the forms of Keras 2 and Keras 3, and what numpy finds it to compute (expected.json):
# python3 make.py, with numpy and h5py. The model has a layer that is called twice, a model within the model, and recurrent layers.
import io, json, zipfile
import h5py
import numpy as np

r = np.random.RandomState(1)
T, I, U = 3, 2, 4
w = {
    'dense': [r.randn(I, I), r.randn(I)],
    'inner/conv': [r.randn(2, I, 3), r.randn(3)],
    'inner/bn': [r.rand(3) + .5, r.randn(3), r.randn(3), r.rand(3) + .5],
    'lstm_f': [r.randn(3, 4 * U), r.randn(U, 4 * U), r.randn(4 * U)],
    'lstm_b': [r.randn(3, 4 * U), r.randn(U, 4 * U), r.randn(4 * U)],
    'gru': [r.randn(2 * U, 3 * U), r.randn(U, 3 * U), r.randn(2, 3 * U)],
    'time': [r.randn(U, 2), r.randn(2)],
}
w = {k: [(0.5 * x).astype('f4') for x in v] for k, v in w.items()}
sigmoid = lambda x: 1 / (1 + np.exp(-x))

def lstm(x, k, rk, b):
    h = c = np.zeros((x.shape[0], U)); out = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ k + h @ rk + b, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g); h = sigmoid(o) * np.tanh(c); out.append(h)
    return np.stack(out, 1)

def gru(x, k, rk, b):
    h = np.zeros((x.shape[0], U)); out = []
    for t in range(x.shape[1]):
        xz, xr, xh = np.split(x[:, t] @ k + b[0], 3, axis=1); hz, hr, hh = np.split(h @ rk + b[1], 3, axis=1)
        z, q = sigmoid(xz + hz), sigmoid(xr + hr)
        h = z * h + (1 - z) * np.tanh(xh + q * hh); out.append(h)
    return np.stack(out, 1)

def model(x):
    a = np.maximum(x @ w['dense'][0] + w['dense'][1], 0)
    a = np.maximum(a @ w['dense'][0] + w['dense'][1], 0)
    s = a + x
    k, b = w['inner/conv']
    p = np.concatenate([s, np.zeros_like(s[:, :1])], 1)  # same: the surplus behind
    c = np.stack([p[:, t] @ k[0] + p[:, t + 1] @ k[1] + b for t in range(T)], 1)
    g, be, m, v = w['inner/bn']
    n = (c - m) / np.sqrt(v + 1e-3) * g + be
    l = np.concatenate([lstm(n, *w['lstm_f']), lstm(n[:, ::-1], *w['lstm_b'])[:, ::-1]], 2)
    q = gru(l, *w['gru'])
    y = q @ w['time'][0] + w['time'][1]
    e = np.exp(y - y.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

def layer(cls, name, config, refs=None, keras3=False):
    config = dict(config, name=name, trainable=True)
    l = {'class_name': cls, 'name': name, 'config': config}
    if refs is not None:
        if keras3:
            tensor = lambda n, k: {'class_name': '__keras_tensor__', 'config': {'shape': [], 'dtype': 'float32', 'keras_history': [n, k, 0]}}
            l['inbound_nodes'] = [{'args': [[tensor(*x) for x in r] if len(r) > 1 else tensor(*r[0])], 'kwargs': {}} for r in refs]
        else:
            l['inbound_nodes'] = [[[n, k, 0, {}] for n, k in r] for r in refs]
    return l

def config(k3):
    shape = 'batch_shape' if k3 else 'batch_input_shape'
    rnn = {'units': U, 'activation': 'tanh', 'recurrent_activation': 'sigmoid', 'use_bias': True, 'return_sequences': True, 'go_backwards': False}
    inner = {'name': 'inner', 'layers': [
        layer('InputLayer', 'inner_in', {shape: [None, T, I], 'dtype': 'float32'}),
        layer('Conv1D', 'conv', {'filters': 3, 'kernel_size': [2], 'strides': [1], 'padding': 'same', 'data_format': 'channels_last', 'dilation_rate': [1], 'groups': 1, 'activation': 'linear', 'use_bias': True}),
        layer('BatchNormalization', 'bn', {'axis': [2] if not k3 else -1, 'epsilon': 1e-3, 'center': True, 'scale': True, 'momentum': .9})]}
    sub = {'class_name': 'Sequential', 'name': 'inner', 'config': inner, 'inbound_nodes': layer('', '', {}, [[('add', 0)]], k3)['inbound_nodes']}
    layers = [
        layer('InputLayer', 'x', {shape: [None, T, I], 'dtype': 'float32'}, []),
        layer('Dense', 'dense', {'units': I, 'activation': 'relu', 'use_bias': True}, [[('x', 0)], [('dense', 0)]], k3),
        layer('Add', 'add', {}, [[('dense', 1), ('x', 0)]], k3), sub,
        layer('Bidirectional', 'both', {'merge_mode': 'concat', 'layer': layer('LSTM', 'lstm', rnn)}, [[('inner', 0)]], k3),
        layer('GRU', 'gru', dict(rnn, reset_after=True), [[('both', 0)]], k3),
        layer('TimeDistributed', 'time', {'layer': layer('Dense', 'd', {'units': 2, 'activation': 'linear', 'use_bias': True})}, [[('gru', 0)]], k3),
        layer('Softmax', 'y', {'axis': -1}, [[('time', 0)]], k3)]
    ends = lambda n: [n, 0, 0] if k3 else [[n, 0, 0]]
    return {'class_name': 'Functional', 'config': {'name': 'small', 'layers': layers, 'input_layers': ends('x'), 'output_layers': ends('y')}}

with h5py.File('small.h5', 'w') as f:
    f.attrs['model_config'] = json.dumps(config(False)); f.attrs['keras_version'] = '2.15.0'
    g = f.create_group('model_weights'); g.attrs['layer_names'] = np.array(['x', 'dense', 'add', 'inner', 'both', 'gru', 'time', 'y'], 'S')
    def put(name, arrays):
        sub = g.create_group(name)
        sub.attrs['weight_names'] = np.array([n for n, _ in arrays], 'S') if arrays else np.zeros(0)
        for n, a in arrays: sub[n] = a
    put('x', []); put('add', []); put('y', [])
    put('dense', list(zip(['dense/kernel:0', 'dense/bias:0'], w['dense'])))
    inner = list(zip(['conv/kernel:0', 'conv/bias:0'], w['inner/conv'])) + list(zip(['bn/gamma:0', 'bn/beta:0'], w['inner/bn'])) + list(zip(['bn/moving_mean:0', 'bn/moving_variance:0'], w['inner/bn'][2:]))
    put('inner', inner)
    parts = ['kernel:0', 'recurrent_kernel:0', 'bias:0']
    put('both', [('both/forward_lstm/lstm_cell/' + p, a) for p, a in zip(parts, w['lstm_f'])] + [('both/backward_lstm/lstm_cell/' + p, a) for p, a in zip(parts, w['lstm_b'])])
    put('gru', [('gru/gru_cell/' + p, a) for p, a in zip(parts, w['gru'])])
    put('time', list(zip(['time/kernel:0', 'time/bias:0'], w['time'])))

b = io.BytesIO()
with h5py.File(b, 'w') as f:
    for path, key in [('dense', 'dense'), ('sequential/layers/conv1d', 'inner/conv'), ('sequential/layers/batch_normalization', 'inner/bn'), ('bidirectional/forward_layer/cell', 'lstm_f'),
                      ('bidirectional/backward_layer/cell', 'lstm_b'), ('gru/cell', 'gru'), ('time_distributed/layer', 'time')]:
        for i, a in enumerate(w[key]): f['layers/%s/vars/%d' % (path, i)] = a
with zipfile.ZipFile('small.keras', 'w') as z:
    for name, data in [('metadata.json', json.dumps({'keras_version': '3.3.0'})), ('config.json', json.dumps(config(True))), ('model.weights.h5', b.getvalue())]:
        z.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data)
x = r.randn(2, T, I).astype('f4')
json.dump({'x': x.ravel().tolist(), 'y': model(x.astype('f8')).ravel().tolist()}, open('expected.json', 'w'))
