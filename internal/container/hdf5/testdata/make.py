# Writes the files of this folder with h5py (3.7, HDF5 1.10): python3 make.py
import h5py
import numpy as np

# ramp is what every numeric array holds: 0, 1, 2 ... minus 5, halved where elements are floats.
def ramp(shape, dtype):
    n = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape) - 5
    return (n / 2 if np.dtype(dtype).kind == 'f' else n).astype(dtype)

def fill(f):
    for name, dtype in [('f4', '<f4'), ('f8', '<f8'), ('f2', '<f2'), ('i1', 'i1'), ('i2', '<i2'), ('i4', '<i4'), ('i8', '<i8'), ('F4', '>f4'), ('I2', '>i2')]:
        f.create_dataset('plain/' + name, data=ramp((3, 5), dtype))
    f['plain/u1'] = np.arange(15, dtype='u1').reshape(3, 5)
    f['plain/bool'] = np.array([True, False, True])
    f['plain/scalar'] = np.float32(-2.5)
    f['plain/empty'] = np.zeros((0, 4), 'f4')
    f.create_dataset('plain/unwritten', (4, 2), 'f4')
    f.create_dataset('plain/filled', (4, 2), 'f4', fillvalue=1.5)
    f.create_dataset('text/fixed', data=np.array([b'one', b'three'], 'S5'))
    f.create_dataset('text/variable', data=['uno', '', 'größe'], dtype=h5py.string_dtype())
    g = f.create_group('attrs')
    g.attrs['fixed'] = np.array([b'a', b'bcd'])
    g.attrs['variable'] = 'a text'
    g.attrs['list0'] = np.array([b'w', b'x'])
    g.attrs['list1'] = np.array([b'y'])
    g.attrs['number'] = np.int32(7)

def compact(g):
    space = h5py.h5s.create_simple((3, 5))
    props = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    props.set_layout(h5py.h5d.COMPACT)
    d = h5py.h5d.create(g.id, b'compact', h5py.h5t.IEEE_F32LE, space, props)
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, ramp((3, 5), 'f4'))

def chunked(f, one):
    shape, chunks = (7, 6, 5), (7, 6, 5) if one else (3, 2, 4)
    for name, options in [('gzip', dict(compression='gzip')), ('shuffle', dict(compression='gzip', shuffle=True)),
                          ('fletcher', dict(compression='gzip', shuffle=True, fletcher32=True)), ('sum', dict(fletcher32=True)), ('raw', {})]:
        f.create_dataset('chunked/' + name, data=ramp(shape, 'f4'), chunks=chunks, **options)

with h5py.File('old.h5', 'w', libver='earliest') as f:
    fill(f)
    compact(f['plain'])
    chunked(f, False)
    f.create_dataset('chunked/sparse', (9, 4), 'f4', chunks=(3, 4), fillvalue=2)[3:6] = ramp((3, 4), 'f4')
    f['soft'] = h5py.SoftLink('/plain/f4')
    f.create_dataset('refused/lzf', data=ramp((3, 5), 'f4'), compression='lzf')
    f.create_dataset('refused/compound', data=np.zeros(2, [('a', 'f4'), ('b', 'i4')]))
with h5py.File('latest.h5', 'w', libver='latest') as f:
    for name in ['f4', 'F4', 'i8']:
        f.create_dataset('few/' + name, data=ramp((3, 5), {'f4': '<f4', 'F4': '>f4', 'i8': '<i8'}[name]))
    f['few'].attrs['variable'] = 'a text'
    compact(f['few'])
    chunked(f, True)
    f.create_dataset('refused/array', data=ramp((7, 6), 'f4'), chunks=(2, 3))
    for i in range(20):
        f.create_group('refused/dense/%d' % i)
with h5py.File('block.h5', 'w', userblock_size=512) as f:
    f['f4'] = ramp((3, 5), '<f4')
with open('block.h5', 'r+b') as f:
    f.write(b'#!/bin/sh\n')
